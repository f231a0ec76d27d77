"""Small translators between English and German, for `qkv translate en-de` and `qkv translate de-en`. Data alone: qkv opens them."""
