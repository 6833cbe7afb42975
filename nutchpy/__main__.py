"""``python -m nutchpy``: the command line."""

from nutchpy.cli.main import main

if __name__ == "__main__":
    main()
