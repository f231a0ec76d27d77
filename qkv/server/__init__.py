"""`qkv serve`: models behind the HTTP interfaces of LibreTranslate, DeepL, OpenAI and TEI."""
