"""`python -m pyhudi_expr.cli`."""

import sys

from pyhudi_expr.cli.main import main

sys.exit(main())
