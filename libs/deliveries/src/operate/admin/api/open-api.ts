import type * as Swagger from '@nestjs/swagger';

type Decorators = Pick<
  typeof Swagger,
  | 'ApiBody'
  | 'ApiExcludeController'
  | 'ApiOkResponse'
  | 'ApiOperation'
  | 'ApiProperty'
  | 'ApiQuery'
  | 'ApiResponse'
  | 'ApiTags'
>;

const nothing = () => (): void => undefined;

/** The decorators of @nestjs/swagger; without that package, which an application may do without, they say nothing to nobody. */
function load(): Decorators {
  try {
    // An import would make the package a must.
    return require('@nestjs/swagger') as typeof Swagger;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error;
    const names = ['Body', 'ExcludeController', 'OkResponse', 'Operation', 'Property', 'Query', 'Response', 'Tags'];
    return Object.fromEntries(names.map((name) => [`Api${name}`, nothing])) as unknown as Decorators;
  }
}

export const {
  ApiBody,
  ApiExcludeController,
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  ApiQuery,
  ApiResponse,
  ApiTags,
} = load();
