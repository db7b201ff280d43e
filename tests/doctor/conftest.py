"""The programs are the doctor's patients, not tests."""

collect_ignore_glob = ["broken/*", "sound/*"]
