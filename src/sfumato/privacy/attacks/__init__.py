"""What an adversary can do who has the plan and the reports: each attack beside a guess without them."""
