"""The curator: one program that holds rows and ledgers and answers analysts over HTTP.

All logic is the library's; what lies here parses, calls and answers. The division of trust is that of McSherry 2009
("Privacy integrated queries", section 2): whoever asks never holds rows or ledger.
"""
