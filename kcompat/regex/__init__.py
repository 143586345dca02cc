"""RE2's regular expressions over names, in time linear in the name: no pattern can hold anybody up.

Consumer groups of KIP-848 subscribe by such a pattern, and ListTransactions asks by one; Kafka gives them to
RE2/J. Names of topics are ASCII, transactional ids need not be. Nothing is captured: a name matches as a
whole, or it does not.
"""
