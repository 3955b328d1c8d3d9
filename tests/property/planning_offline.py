"""Check as many random placed programs as asked for: more than a test run has time for.

python -m tests.property.planning_offline --programs 2000
"""

from __future__ import annotations

import argparse

from tests.property.test_planning import check_functions, check_program


def main() -> None:
    """Check half as many modules of functions, and half as many programs with branches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    for seed in range(asked.first, asked.first + asked.programs // 2):
        try:
            check_functions(seed)
            check_program(seed)
        except BaseException:
            print(f"seed {seed}")
            raise
    print(f"{asked.programs} programs are right")


if __name__ == "__main__":
    main()
