"""Published translators: the list of them, and models by language pair from publishers, a mirror or an installed package."""
