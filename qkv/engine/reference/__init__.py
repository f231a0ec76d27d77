"""All models in NumPy, without torch and without a compiler.

For machines where the compiled engine is not available, and for architectures that it does not know. Outputs equal the
torch models' in float32; in int8 they are computed as rounding.py defines it, so they equal the compiled engine's.

Shape letters:  B batch   T query positions   S key positions   D width   H heads   K width of a head   V vocabulary
"""
