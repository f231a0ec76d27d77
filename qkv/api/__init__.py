"""The functions of the Python API that belong to no single family. The commands call them too."""
