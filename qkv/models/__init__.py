"""The models, one file each, assembled from the core. They know no text and never import each other."""
