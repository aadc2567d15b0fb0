-- JIT and calls of C functions: prints the same everywhere.
local ffi, bit = require("ffi"), require("bit")
ffi.cdef("int getppid(void); int getpid(void);")
local sum, same = 0, 0
for i = 1, 1e6 do sum = bit.bxor(bit.rol(sum, 5), i) end
local parent = ffi.C.getppid()
for _ = 1, 2e4 do if ffi.C.getppid() == parent then same = same + 1 end end
print(sum, same, (jit.status()))
