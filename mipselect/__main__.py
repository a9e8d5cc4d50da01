"""`python -m mipselect` is the same as `mipselect`."""

import sys

from mipselect.cli.start import main

sys.exit(main())
