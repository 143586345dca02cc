"""RE2's regular expressions over names, matched in time linear in the name's length, so that no pattern can
block a broker.

Consumer groups of KIP-848 subscribe by such a pattern, and ListTransactions filters by one; Kafka uses RE2/J
for them. Names of topics are ASCII, transactional ids need not be. There are no capturing groups: a name
matches as a whole, or not at all.
"""
