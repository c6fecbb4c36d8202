import torch,time; torch.set_num_threads(1)
for shape in ((256,10),(64,4,10,1),(256,40)):
    x=torch.randn(*shape)
    def T(f,n=3000):
        f(); b=9
        for _ in range(5):
            t=time.perf_counter(); [f() for _ in range(n)]; b=min(b,(time.perf_counter()-t)/n)
        return round(b*1e6,1)
    print(shape,T(lambda:x.abs().amax(-1)),T(lambda:torch.linalg.vector_norm(x,float('inf'),-1)),T(lambda:x.abs().max(-1)[0]),T(lambda:x.tanh()),T(lambda:x-x),T(lambda:x.abs()),T(lambda:x.mT.contiguous().abs().amax(0) if x.dim()==2 else x))
