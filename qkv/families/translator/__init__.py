"""Translators: encoder-decoder Transformers (T-ED), one-stream Transformers (T-D) and LSTMs with attention."""
