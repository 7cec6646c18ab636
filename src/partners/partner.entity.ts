import { ApiProperty } from '@nestjs/swagger';
import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** Another company's system that wants to know what happens here. */
@Entity('partners', { synchronize: false })
export class Partner {
  @ApiProperty({ format: 'uuid' })
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @ApiProperty({ example: 'Acme' })
  @Column('text')
  name: string;

  @ApiProperty({ example: 'https://acme.example/hooks/accounts' })
  @Column('text')
  endpoint: string;

  @ApiProperty()
  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
