# Names of the previews to those of 0.1.0: sed -E -i -f renamed.sed FILE…
# Not done: copies and fills at a pitch, the order of a collective's buffers, copies of buffers, streams as keys, handles that go to other code.
s/\btime_out\b/timeout/g
s/\bas_they_are\b/no_flush/g
s/(->|\.)attach\(/\1attach_memory(/g
s/(->|\.)batch\(/\1batch_memory_operations(/g
s/(->|\.)kernel\(([^)])/\1untyped_kernel(\2/g
s/\bweir::make</weir::make_ptr</g
s/\bweir::Range\b/weir::ScopedRange/g
s/\bweir::(reads|writes|touches)\(/weir::accesses::\1(/g
s/\bweir::access::/weir::accesses::/g
s/\b(allocate(_bytes)?_async(<[^>]*>)?\([^;]*)\.get\(\)\)/\1)/g
s/(wrap_stream\([^;]*->)native_handle\(\)/\1share_native_handle()/g
s#weir/(backend_support|operation|plugin|tool)\.hpp#weir/plugin/\1.hpp#g
s#weir/plugin/backend_support\.hpp#weir/plugin/support.hpp#g
