"""`python -m mipselect.cli` is the same as `mipselect`."""

import sys

from mipselect.cli.start import main

sys.exit(main())
