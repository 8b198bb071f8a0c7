"""What a decoder carries from word to word."""

#: The context that still matters, as the number of an n-gram: 0 is none. Equal states give equal futures. Being plain
#: numbers, states can be hashed, compared, copied and pickled for nothing; they belong to the model they came from.
State = int | tuple[int, ...]
