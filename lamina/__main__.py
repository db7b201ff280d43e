"""`python -m lamina`: the command line."""

import sys

from lamina.cli import main

sys.exit(main())
