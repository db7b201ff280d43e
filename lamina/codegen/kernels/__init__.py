"""Machine code that eager mode uses for large arrays, whatever their sizes."""
