exec(open('/tmp/edit.py').read())
edit('07a',[(" Nor were all through after 3,000 batches: twice as many take half off four readings.","")])
