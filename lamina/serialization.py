"""`lamina.serialization`: what goes with `save` and `load`."""

from lamina.io.allowed import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from lamina.io.loading import get_unsafe_globals_in_checkpoint, load
from lamina.io.locations import MapLocation as MAP_LOCATION
from lamina.io.locations import default_restore_location, location_tag
from lamina.io.saving import DEFAULT_PROTOCOL, save
from lamina.io.settings import (
    MAP_PRIVATE,
    MAP_SHARED,
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
)

__all__ = [
    "DEFAULT_PROTOCOL",
    "LoadEndianness",
    "MAP_LOCATION",
    "MAP_PRIVATE",
    "MAP_SHARED",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
]
