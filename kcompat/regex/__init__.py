"""RE2's regular expressions over topic names, in time linear in the name: no pattern can hold anybody up.

Consumer groups of KIP-848 subscribe by such a pattern, which Kafka gives to RE2/J. Names of topics are ASCII,
so a character class is a set of 128 bits. Nothing is captured: a name matches as a whole, or it does not.
"""
