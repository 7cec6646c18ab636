import { applyDecorators, type Type } from '@nestjs/common';
import { deliveryStatuses } from '../../../delivery/status';
import { ErrorModel } from './api-model';
import { ApiBody, ApiOkResponse, ApiOperation, ApiQuery, ApiResponse } from './open-api';

interface QueryDescription {
  readonly name: string;
  readonly description?: string;
  readonly example?: unknown;
  readonly enum?: readonly string[];
}

export const conditionQueries: readonly QueryDescription[] = [
  { name: 'status', enum: deliveryStatuses },
  { name: 'channel' },
  { name: 'lane' },
  { name: 'orderingKey' },
  { name: 'destination' },
  { name: 'error', example: '503', description: 'Kind of the last error' },
  { name: 'createdAfter', example: '2026-03-01T08:30:00Z', description: 'Created at this instant or later' },
  { name: 'createdBefore', example: '2026-03-01T08:30:00Z', description: 'Created before this instant' },
  { name: 'olderThan', example: '1h', description: 'Created at least this long ago' },
  { name: 'newerThan', example: '1d', description: 'Created at most this long ago' },
  { name: 'ids', description: 'These, with commas between them' },
];

export const pageQueries: readonly QueryDescription[] = [
  { name: 'limit', example: 100, description: '1 to 1,000' },
  { name: 'after', description: 'The `next` of the page before' },
];

/** The entry of a route in an OpenAPI document. */
export function documented(
  summary: string,
  { type, body, queries = [] }: { type: Type | [Type]; body?: Type; queries?: readonly QueryDescription[] },
): MethodDecorator {
  return applyDecorators(
    ApiOperation({ summary }),
    ApiOkResponse({ type }),
    ...(body ? [ApiBody({ type: body })] : []),
    ...queries.map((query) =>
      ApiQuery({ required: false, type: String, ...query, enum: query.enum && [...query.enum] }),
    ),
    ApiResponse({ status: 400, type: ErrorModel, description: 'Not understood: `path` says what.' }),
    ApiResponse({
      status: 403,
      description: 'The guards did not let the request in, or nobody is known to have sent it.',
    }),
    ApiResponse({ status: 404, type: ErrorModel, description: 'There is no such delivery.' }),
    ApiResponse({ status: 409, type: ErrorModel, description: 'Not in this `status`.' }),
    ApiResponse({ status: 503, type: ErrorModel, description: 'The database does not answer in time.' }),
  );
}
