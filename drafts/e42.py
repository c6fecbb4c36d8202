exec(open('/tmp/edit.py').read())
edit('07a', [
("""print(f"{'error at λ =':26}" + "".join(f"{c:>7}" for c in shares))
""","""even = CollectiveRuns(recorded("collectives"), "spins", "seconds")
print(f"{'error at λ =':26}" + "".join(f"{c:>6}" for c in shares)
      + f"{'seconds':>9}")
"""),
("""    row = "".join(f"{runs.mean(name, c).mean:7.3f}" if (c,) in seen else " " * 7
                  for c in shares)
    print(""","""    row = "".join(f"{runs.mean(name, c).mean:6.3f}" if (c,) in seen else " " * 6
                  for c in shares)
    row += f"{even.mean(name, 1.0).mean:9.3f}" if name in even.names else ""
    print("""),
])
