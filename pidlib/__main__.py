"""`python -m pidlib`: see `pidlib.cli.app`."""

from pidlib.cli.app import main

if __name__ == "__main__":
    main()
