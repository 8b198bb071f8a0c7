"""``python -m plre``: the command line, wherever the command ``plre`` is not on the path."""

from plre.cli.main import main

if __name__ == "__main__":
    main()
