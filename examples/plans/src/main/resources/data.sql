-- SPDX-License-Identifier: Apache-2.0
insert into plans values ('shop', 'ann', 2, 2), ('shop', 'bob', 100, 1000), ('bank', 'ann', 3, 3);
