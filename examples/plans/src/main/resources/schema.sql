-- SPDX-License-Identifier: Apache-2.0
create table plans (
  tenant varchar(64) not null,
  customer varchar(64) not null,
  burst bigint not null check (burst > 0),
  per_minute bigint not null check (per_minute > 0),
  primary key (tenant, customer)
);
