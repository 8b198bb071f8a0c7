"""Runs a command and reports, as the last line on standard error, how long it took and how much memory it had at most.

It is a process of its own, and a small one, because the peak of a child counts from that of the process it was started
from: a parent that has held a model would add it to everything it starts.
"""

import json
import os
import sys
import time

start = time.perf_counter()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)
seconds = time.perf_counter() - start
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"seconds": seconds, "peak": peak}), file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
