"""Models of plre in the programs of others: decoders of speech recognition, and Hugging Face's transformers.

Each module here needs the package that it is for, which you install by yourself.
"""
