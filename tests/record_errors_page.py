"""Writes docs/errors.md from the catalogue of errors: python -m tests.record_errors_page"""

from pathlib import Path

from lamina.explain_command import page

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
