import torch, time
torch.set_num_threads(1)
print(torch.backends.mkl.is_available(), torch.backends.mkldnn.is_available())
for (m,k,n) in [(4096,128,128),(4096,128,512),(4096,512,128),(1024,1024,1024)]:
    a=torch.randn(m,k);b=torch.randn(k,n)
    a@b
    t=time.perf_counter();r=0
    while time.perf_counter()-t<1: a@b;r+=1
    d=time.perf_counter()-t
    print(m,k,n,2*m*k*n*r/d/1e9,"GFLOP/s")
