"""The patterns of a table: trees and their rules, and what columns may hold together."""
