"""``python -m nutchpy.parsing SOCKET BOARD``: a worker process, begun by the pool with two descriptors to inherit."""

import sys

from nutchpy.parsing.worker import main

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
