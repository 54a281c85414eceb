-- Why a request was refused, for programs; NULL while it is open and where an older program has refused it.
ALTER TABLE run_requests ADD COLUMN refused_code TEXT;
