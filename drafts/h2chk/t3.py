import time
a=time.process_time(); import torch; print("torch",time.process_time()-a)
a=time.process_time(); import torch._dynamo; print("dynamo",time.process_time()-a)
a=time.process_time(); import matplotlib.pyplot; print("plt",time.process_time()-a)
a=time.process_time(); import attnlib.course.plots; print("attnlib plots",time.process_time()-a)
a=time.process_time(); import attnlib.transformer, attnlib.course.live; print("attnlib transformer, live",time.process_time()-a)
