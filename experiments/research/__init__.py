"""Which models beside the words' n-grams are worth having: `python -m experiments.research`.

Models are tried on held-out events only, so none has to be a model file: counts of any kind of context, looked up for
the events of two texts, are enough.

    corpus       texts as ids, words as classes
    counting     counts of n-grams whose context is any list of words and classes
    discounts    what is taken from counts
    components   probabilities of the events under one model
    mixture      a word model and components put together, weights by EM
    hypotheses   what is tried
    report       what came out, as a table
"""
