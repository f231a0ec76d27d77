"""Text encoders (BERT): masked words, embeddings, and classifiers fine-tuned from them."""
