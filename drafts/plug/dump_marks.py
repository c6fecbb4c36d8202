import json, pytest
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    json.dump({i.nodeid:[m.name for m in i.iter_markers()]+list(getattr(i,"fixturenames",())) for i in items}, open("/work/tmp/marks.json","w"))
