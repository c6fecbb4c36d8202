from pathlib import Path
def pytest_configure(config):
    from helpers import built_book
    built_book.build = lambda factory: built_book.Book(0, "", Path("/work/h2/_build/html"))
