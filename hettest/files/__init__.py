"""Every file that the kit writes, and every text that leaves it.

=============  ====================================================================
`text`         what text may hold that goes to a report, a file or a terminal
`writing`      writes files whole, or not at all
=============  ====================================================================

No other module of the kit opens a file for writing; a test holds that.
"""

from hettest.files.text import (
    cleaned,
    encodable,
    escaped,
    file_name,
    finite,
    json_text,
    one_line,
    printable,
    toml_string,
)
from hettest.files.writing import (
    remove,
    require_writable,
    write_bytes,
    write_files,
    write_folder,
    write_text,
)

__all__ = [
    "cleaned",
    "encodable",
    "escaped",
    "file_name",
    "finite",
    "json_text",
    "one_line",
    "printable",
    "remove",
    "require_writable",
    "toml_string",
    "write_bytes",
    "write_files",
    "write_folder",
    "write_text",
]
