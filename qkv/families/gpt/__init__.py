"""Language models on text and music (GPT-1, GPT-2), and classifiers fine-tuned from them."""
