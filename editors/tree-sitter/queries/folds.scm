[
  (import) (settings) (block) (entries) (test_body) (record) (record_type) (list) (arguments) (parameters) (choice)
  (text)
] @fold
