exec(open('/work/tmp/brief/h2_try.py').read())
p="notebooks/"
F=[1.0,0.8,0.3,-0.2]
go(p+"01_softmax_limits","SoftmaxThermometer",{},{"beta":1},{"beta":2},{"beta":50},{"logits":[1,.8,.3,-1.5]})
go(p+"02a_scaled_dot_product","ScoreLab",{"dimension":32},{"dimension":512},{"dimension":512,"scaled":True},{"dimension":512,"scaled":True,"correlation":0.3})
