"""Text to image (DALL-E): a codebook of image patches, and a decoder that writes codes after a caption."""
