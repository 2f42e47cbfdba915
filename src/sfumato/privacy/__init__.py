"""Privacy you can check: attacks, audits and statements people understand."""
