import time,torch,sys
torch.set_num_threads(1)
t=time.perf_counter(); c=time.process_time()
s=0
for i in range(6_000_000): s+=i*i%7
a=time.perf_counter()-t
t=time.perf_counter()
x=torch.randn(400,400,dtype=torch.float64)
for i in range(60): y=(x@x).tanh()
b=time.perf_counter()-t
t=time.perf_counter()
z=torch.randn(10)
for i in range(150000): z=z*1.0001
d=time.perf_counter()-t
print(f"{sys.argv[1]} python {a:.2f} matmul {b:.2f} small {d:.2f} cpu {time.process_time()-c:.2f}")
