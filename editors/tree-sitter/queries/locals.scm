[(source_file) (function) (block) (closure) (each) (hop)] @local.scope

(imported_name !alias name: [(identifier) (quoted_identifier)] @local.definition.import)
(imported_name alias: [(identifier) (quoted_identifier)] @local.definition.import)
(connection name: [(identifier) (quoted_identifier)] @local.definition.var)
(binding name: [(identifier) (quoted_identifier)] @local.definition.var)
(type_declaration name: (type_identifier) @local.definition.type)
(function name: (function_identifier) @local.definition.function)
(parameter name: [(identifier) (quoted_identifier)] @local.definition.parameter)
(closure_parameters [(identifier) (quoted_identifier)] @local.definition.parameter)
(bind name: [(identifier) (quoted_identifier)] @local.definition.var)
(refused why: [(identifier) (quoted_identifier)] @local.definition.var)
(hop alias: [(identifier) (quoted_identifier)] @local.definition.var)

[(identifier) (quoted_identifier) (function_identifier)] @local.reference
