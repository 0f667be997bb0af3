#!/usr/bin/env python3
"""Accepts the current output of the program: approve.py [NAME...]; all goldens when no name is given."""
import sys
import unittest

import golden_test


def main():
    names = sys.argv[1:] or golden_test.NAMES
    unknown = sorted(set(names) - set(golden_test.NAMES))
    if unknown:
        sys.exit(f"no golden is called {', '.join(unknown)}; there are: {', '.join(golden_test.NAMES)}")

    class Approval(golden_test.GoldenTest):
        def check(self, name):
            path = golden_test.GOLDEN / f"{name}.txt"
            found = self.text_of(name)
            if not path.exists() or path.read_text() != found:
                path.write_text(found)
                print(f"approved {path}")

    tests = unittest.TestSuite(Approval(f"test_{name}") for name in names)
    sys.exit(0 if unittest.TextTestRunner(verbosity=0).run(tests).wasSuccessful() else 1)


if __name__ == "__main__":
    main()
